"""Works out what a crossing costs."""

SINGLE = {"adult": 14.00, "child": 7.00}


def crossing_price(adults: int, children: int, bicycles: int = 0) -> float:
    """The price of one crossing; every third child travels free."""
    paying_children = children - children // 3
    return adults * SINGLE["adult"] + paying_children * SINGLE["child"] + bicycles * 5.50
